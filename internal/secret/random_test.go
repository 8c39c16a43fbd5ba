package secret

import (
	"slices"
	"strings"
	"testing"
)

func TestLooksRandom(t *testing.T) {
	random := []string{
		"sk-ant-api03-Ab1xYz93kQpLmN0", "sk-proj-9fKx2LmQ8vTz4Wb7", "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
		"github_pat_11ABCDEFG0aBcDeFgHiJkL", "glpat-x8Kq2Lm9vTz4Wb7Q", "xoxb-123456789012-abcDEF123ghi", "AKIAIOSFODNN7EXAMPLE",
		"AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "npm_9fKx2LmQ8vTz4Wb7Qx8K", "hf_AbCdEfGhIjKlMnOp12",
		"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "/wJ4lrXUtnF3MI+K7MD3NGbPxRf1CY3X4MPL3K3Y",
		"d41d8cd98f00b204e9800998ecf8427e", "D41D8CD98F00B204E9800998ECF8427E", "JBSWY3DPEHPK3PXPA5QZ",
		"f47ac10b-58cc-4372-a567-0e02b2c3d479", "F47AC10B-58CC-4372-A567-0E02B2C3D479",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
		"A1B2-C3D4-E5F6-G7H8", "Xk9mP2vL7q", "q7W!x9Zk2$mL", "9fKx2LmQ8vTz4Wb7", "k3j4h5g6f7d8s9a0",
		"123456789:AAEhBOweik9ai2o-q7W8x9Zk2mL4nP6rT8v", "tvly-9fKx2LmQ8vTz4Wb7",
		"-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n", 3) + "-----END PRIVATE KEY-----",
		"Bearer 9fKx2LmQ8vTz4Wb7",
	}
	for _, v := range random {
		if !looksRandom(v) {
			t.Errorf("%q does not look random: %+v", v, count(v))
		}
	}
	ordinary := []string{
		"", "short1A", "production", "development", "us-east-1", "ap-northeast-1a", "eu-central-1", "America/New_York", "en_US.UTF-8",
		"true", "disabled", "changeme", "12345678", "123456789012", "3.14159265", "-12345678", "2024-01-31", "2024-01-31T12:34:56Z",
		"v1.22.333", "1.2.3-beta.4", "v1.2.3-rc.1", "10.0.0.1:8080", "192.168.100.200", "255.255.255.0/24",
		"/usr/local/bin/node", "/home/someone/.config/thing2/file3.json", "./relative/path/to/it", "../up/one", "~/.ssh/id_ed25519", `C:\Users\Someone\file1.txt`,
		"localhost:5432", "db.internal.example.com", "someone@example.com", "john.doe99@example.com",
		"gpt-4o-mini-2024-07-18", "claude-sonnet-4-5-20250929", "gemini-2.5-flash-lite", "meta-llama/Llama-3.1-8B-Instruct",
		"MyCompanyName", "my_database_name", "my-project-123456", "application/json", "Hello World 2024", "iPhone15ProMax",
		"the quick brown fox jumps over 13 lazy dogs", "correct-horse-battery-staple", "SCREAMING_SNAKE_CASE_NAME", "camelCaseNameOfSomething",
		"arn:aws:iam::123456789012:role/MyRoleName", "projects/my-proj-123/locations/us-central1", "t3.medium,m5.large,c6g.xlarge,r5d.2xlarge",
		"ubuntu-24.04-amd64", "node:22-alpine3.20", "README.md", "index.html", "sk-", "ghp_", "sk-learn-tutorial",
		"-----BEGIN PRIVATE KEY-----", "aaaaaaaaaaaaaaaa", "________________", "日本語のテキスト",
	}
	for _, v := range ordinary {
		if looksRandom(v) {
			t.Errorf("%q looks random: %+v", v, count(v))
		}
	}
}

func TestSecretsIn(t *testing.T) {
	key := "9fKx2LmQ8vTz4Wb7"
	line := "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
	tests := []struct {
		name, value string
		want        []string
	}{
		{"SERVICE", key, []string{key}},
		{"SERVICE", "  " + key + "\r\n", []string{key}},
		{"SERVICE", "plain", nil},
		{"SERVICE", key + ",k3j4h5g6f7d8s9a0", []string{key, "k3j4h5g6f7d8s9a0"}},
		{"SERVICE", `{"id": "` + key + `"}`, []string{key}},
		{"DATABASE_URL", "postgres://app:s3cretpw@db.example:5432/app", []string{"s3cretpw"}},
		{"DATABASE_URL", "postgres://app:p%40ssw0rd%21@db.example/app", []string{"p@ssw0rd!"}},
		{"DATABASE_URL", "postgres://db.example/app", nil},
		{"DATABASE_URL", "postgresql://postgres:postgres@localhost/app", nil},
		{"SORT_KEY", "createdAt", nil},
		{"HOOK", "https://hooks.example/services/T0001/" + key, []string{key}},
		{"REMOTE", "https://" + key + "@git.example/a/b.git", []string{key}},
		{"ENDPOINT", "https://api.example/v1?token=hunter2hunter", []string{"hunter2hunter"}},
		{"ENDPOINT", "https://api.example/v1/some-long-path-name/index.html?page=12", nil},
		{"API_KEY_URL", "https://api.example/v1", nil},

		// With a name that tells, more is secret.
		{"DB_PASSWORD", "hunter22", []string{"hunter22"}},
		{"DB_PASSWORD", "correct-horse-battery", []string{"correct-horse-battery"}},
		{"DB_PASSWORD", "changeme", nil},
		{"DB_USER", "hunter22", nil},
		{"SIGNING_KEY", "/etc/keys/signing.pem", nil},
		{"ACCESS_TOKEN", "1234567890", nil},
		{"MONKEY", "hunter22", nil},

		// The lines of a key are cut out of it by tools.
		{"SIGNING_KEY", "-----BEGIN PRIVATE KEY-----\n" + line + "\n-----END PRIVATE KEY-----\n",
			[]string{"-----BEGIN PRIVATE KEY-----\n" + line + "\n-----END PRIVATE KEY-----", line}},
	}
	for _, tt := range tests {
		if got := secretsIn(tt.name, tt.value); !slices.Equal(got, tt.want) {
			t.Errorf("%s=%q\n got %q\nwant %q", tt.name, tt.value, got, tt.want)
		}
	}
}
