package event

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/rawjson"
)

// PartType names the shape of a [Part].
type PartType string

// The part types. The comment names the fields that each one uses beside ID and Type.
const (
	TextPart        PartType = "textPart"        // Text, ProviderData
	ImageURLPart    PartType = "imageUrlPart"    // URL, MIMEType
	ImageInlinePart PartType = "imageInlinePart" // EncodedData, MIMEType
	ImageBinaryPart PartType = "imageBinaryPart" // Data, MIMEType
	FileURLPart     PartType = "fileUrlPart"     // URL, MIMEType
	FileInlinePart  PartType = "fileInlinePart"  // EncodedData, MIMEType
	FileBinaryPart  PartType = "fileBinaryPart"  // Data, MIMEType
	ToolCallPart    PartType = "toolCallPart"    // ToolCallID, ToolName, Args, ProviderData
	ThinkingPart    PartType = "thinkingPart"    // Thinking, Signature, ProviderData
	ToolResultPart  PartType = "toolResultPart"  // ToolCallID, ToolName, Contents, IsError
	ProviderPart    PartType = "providerPart"    // ToolName, ProviderData: a call that the provider ran itself, or its result
)

// A Part is one piece of a message. Type says which of the other fields are used; the rest
// stay zero and are not encoded.
type Part struct {
	ID   string   `json:"id"`
	Type PartType `json:"type"`

	Text        string        `json:"text"`
	URL         string        `json:"url"`
	EncodedData string        `json:"encodedData"` // base64
	Data        string        `json:"data"`
	MIMEType    string        `json:"mimeType"`
	ToolCallID  string        `json:"toolCallId"`
	ToolName    string        `json:"toolName"`
	Args        rawjson.Value `json:"args"`
	Thinking    string        `json:"thinking"`
	Signature   string        `json:"signature"`
	Contents    []Part        `json:"contents"`
	IsError     bool          `json:"isError"`

	// ProviderData must be sent back to the provider with this part of its answer, and only
	// the provider understands it: an encrypted thought, an item id.
	ProviderData rawjson.Value `json:"providerData"`

	Unknown map[string]rawjson.Value `json:",embed"`
}

// A wirePart is a [Part] in JSON. Its pointers tell a member that is empty from one that the
// type does not have.
type wirePart struct {
	ID           string                   `json:"id"`
	Type         PartType                 `json:"type"`
	Text         *string                  `json:"text,omitzero"`
	URL          *string                  `json:"url,omitzero"`
	EncodedData  *string                  `json:"encodedData,omitzero"`
	Data         *string                  `json:"data,omitzero"`
	MIMEType     *string                  `json:"mimeType,omitzero"`
	ToolCallID   *string                  `json:"toolCallId,omitzero"`
	ToolName     *string                  `json:"toolName,omitzero"`
	Args         rawjson.Value            `json:"args,omitzero"`
	Thinking     *string                  `json:"thinking,omitzero"`
	Signature    string                   `json:"signature,omitzero"`
	Contents     *[]Part                  `json:"contents,omitzero"`
	IsError      bool                     `json:"isError,omitzero"`
	ProviderData rawjson.Value            `json:"providerData,omitzero"`
	Unknown      map[string]rawjson.Value `json:",embed"`
}

// MarshalJSON writes the members that p's type has, and no others.
func (p Part) MarshalJSON() ([]byte, error) { return json.Marshal(p, encoding) }

func (p Part) encode(enc *jsontext.Encoder) error {
	w := wirePart{ID: p.ID, Type: p.Type, Unknown: p.Unknown}
	switch p.Type {
	case TextPart:
		w.Text, w.ProviderData = &p.Text, p.ProviderData
	case ImageURLPart, FileURLPart:
		w.URL, w.MIMEType = &p.URL, &p.MIMEType
	case ImageInlinePart, FileInlinePart:
		w.EncodedData, w.MIMEType = &p.EncodedData, &p.MIMEType
	case ImageBinaryPart, FileBinaryPart:
		w.Data, w.MIMEType = &p.Data, &p.MIMEType
	case ToolCallPart:
		w.ToolCallID, w.ToolName, w.Args, w.ProviderData = &p.ToolCallID, &p.ToolName, orEmptyObject(p.Args), p.ProviderData
	case ThinkingPart:
		w.Thinking, w.Signature, w.ProviderData = &p.Thinking, p.Signature, p.ProviderData
	case ToolResultPart:
		w.ToolCallID, w.ToolName, w.Contents, w.IsError = &p.ToolCallID, &p.ToolName, &p.Contents, p.IsError
	case ProviderPart:
		w.ToolName, w.ProviderData = &p.ToolName, orEmptyObject(p.ProviderData)
	default:
		return fmt.Errorf("message part %q: unknown type %q", p.ID, p.Type)
	}
	return json.MarshalEncode(enc, w)
}

// UnmarshalJSON reads a part and refuses an unknown type: a part that cannot
// be understood must not reach a model.
func (p *Part) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, p, decoding) }

func (p *Part) decode(dec *jsontext.Decoder) error {
	type fields Part // without the methods, or decoding would call itself
	var f fields
	if err := json.UnmarshalDecode(dec, &f); err != nil {
		return err
	}
	switch f.Type {
	case TextPart, ImageURLPart, ImageInlinePart, ImageBinaryPart, FileURLPart, FileInlinePart,
		FileBinaryPart, ToolCallPart, ThinkingPart, ToolResultPart, ProviderPart:
	default:
		return fmt.Errorf("message part %q: unknown type %q", f.ID, f.Type)
	}
	*p = Part(f)
	return nil
}

// orEmptyObject returns an empty object for arguments that a provider left out.
func orEmptyObject(v rawjson.Value) rawjson.Value {
	if len(v) == 0 {
		return rawjson.Value("{}")
	}
	return v
}
