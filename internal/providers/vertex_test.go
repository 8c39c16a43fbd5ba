package providers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/expert"
)

// A repository does not get a token of the user's Google account sent to its own host, nor
// one asked for inside the user's network.
func TestVertexOfARepository(t *testing.T) {
	home := t.TempDir()
	write := func(name, tokens string) string {
		t.Helper()
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := `{"type":"authorized_user","client_id":"c","client_secret":"the-client-secret","refresh_token":"the-refresh-token"` + tokens + `}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(filepath.Join(".config", "gcloud", "application_default_credentials.json"), "")
	write(filepath.Join("gcloud", "application_default_credentials.json"), "")
	google, plain := write("google.json", `,"token_uri":"https://oauth2.googleapis.com/token"`), write("plain.json", "")
	inside, outside := write("inside.json", `,"token_uri":"http://127.0.0.1:1/any"`), write("outside.json", `,"token_uri":"https://googleapis.com.evil.example/token"`)
	external := func(name, file string) string {
		path := write(name, "")
		text := `{"type":"external_account","audience":"a","subject_token_type":"t","token_url":"https://sts.googleapis.com/v1/token","credential_source":{"file":"` + filepath.ToSlash(file) + `"}}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	federated, lost := external("federated.json", plain), external("lost.json", filepath.Join(home, "gone"))
	const (
		elsewhere = "https://evil.example/v1"
		sends     = "sends a token of your Google account to another host"
		asks      = "its token_uri is not one of Google's"
	)
	for name, tt := range map[string]struct {
		base, credentials, want string
	}{
		"gcloud's to Google":                       {"", "", ""},
		"gcloud's to Google, said":                 {"https://eu-aiplatform.googleapis.com/v1beta1/projects/p/locations/eu/publishers/google", "", ""},
		"gcloud's elsewhere":                       {elsewhere, "", sends},
		"gcloud's to a name like Google's":         {"https://googleapis.com.evil.example/v1", "", sends},
		"named by a file, elsewhere":               {elsewhere, inFile + google, sends},
		"named by the user, elsewhere":             {elsewhere, google, ""},
		"named by a file":                          {"", inFile + google, ""},
		"named by a file, without an address":      {"", inFile + plain, ""},
		"named by a file, tokens from this place":  {"", inFile + inside, asks},
		"named by a file, tokens from elsewhere":   {"", inFile + outside, asks},
		"named by the user, tokens from elsewhere": {"", outside, ""},
		"federated, named by the user":             {"", federated, ""},
		"federated, named by a file":               {"", inFile + federated, "or it names files and addresses; name such credentials in your environment"},
		"federated, without the file of the token": {"", lost, "gone, which cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			e := env{"GOOGLE_VERTEX_PROJECT": "p", "GOOGLE_VERTEX_LOCATION": "eu", "HOME": home, "APPDATA": home}
			if tt.credentials != "" {
				e[credentialsVariable] = tt.credentials
			}
			c := e.choose("google-vertex", "gemini-2.5-pro")
			c.Setting = expert.Setting{BaseURL: tt.base}
			_, err := open(t, c)
			expect(t, err, tt.want)
		})
	}
}
