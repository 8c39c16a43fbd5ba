package llm

import (
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// Env is the environment in which perstack finds a server, at the address that
// [Server.Root] returns, as one of the providers, with the right key. dir is where a file
// with credentials may be written. It is nil if there is no such provider, or no such file
// can be written.
func Env(provider, root, dir string) map[string]string {
	switch provider {
	case "anthropic":
		return map[string]string{"ANTHROPIC_API_KEY": Key, "ANTHROPIC_BASE_URL": root + "/v1"}
	case "openai":
		return map[string]string{"OPENAI_API_KEY": Key, "OPENAI_BASE_URL": root + "/v1"}
	case "google":
		return map[string]string{"GOOGLE_GENERATIVE_AI_API_KEY": Key, "GOOGLE_GENERATIVE_AI_BASE_URL": root + "/v1beta"}
	case "ollama":
		return map[string]string{"OLLAMA_BASE_URL": root + "/api"}
	case "azure-openai":
		return map[string]string{"AZURE_API_KEY": Key, "AZURE_BASE_URL": root + "/openai"}
	case "amazon-bedrock":
		return map[string]string{
			"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": Key, "AWS_REGION": "us-east-1",
			"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": root,
		}
	case "google-vertex":
		return vertex(root, dir)
	case "deepseek":
		return map[string]string{"DEEPSEEK_API_KEY": Key, "DEEPSEEK_BASE_URL": root + "/deepseek"}
	}
	return nil
}

// vertex writes the file that the account of a service proves itself with.
func vertex(root, dir string) map[string]string {
	file := filepath.Join(dir, "credentials.json")
	for _, wire := range wires() {
		if wire.Credentials == nil {
			continue
		}
		if os.WriteFile(file, wire.Credentials(root, script.Key), 0o600) != nil {
			return nil
		}
		return map[string]string{
			"GOOGLE_APPLICATION_CREDENTIALS": file, "GOOGLE_VERTEX_PROJECT": "p", "GOOGLE_VERTEX_LOCATION": "l",
			"GOOGLE_VERTEX_BASE_URL": root + "/v1beta1/projects/p/locations/l/publishers/google",
		}
	}
	return nil
}
