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

// A Part is one piece of a message. Type says which of the other fields mean
// something; the rest stay zero and are not encoded.
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

	// ProviderData is what the provider wants to see again with this part of its
	// answer, and only it understands: an encrypted thought, an item id.
	ProviderData rawjson.Value `json:"providerData"`

	Unknown map[string]rawjson.Value `json:",embed"`
}

// The shapes are what a part of each type looks like in JSON. Go's zero value cannot
// tell "required and empty" from "absent", so each type lists its own members.
type (
	textShape struct {
		ID           string                   `json:"id"`
		Type         PartType                 `json:"type"`
		Text         string                   `json:"text"`
		ProviderData rawjson.Value            `json:"providerData,omitzero"`
		Unknown      map[string]rawjson.Value `json:",embed"`
	}
	urlShape struct {
		ID       string                   `json:"id"`
		Type     PartType                 `json:"type"`
		URL      string                   `json:"url"`
		MIMEType string                   `json:"mimeType"`
		Unknown  map[string]rawjson.Value `json:",embed"`
	}
	inlineShape struct {
		ID          string                   `json:"id"`
		Type        PartType                 `json:"type"`
		EncodedData string                   `json:"encodedData"`
		MIMEType    string                   `json:"mimeType"`
		Unknown     map[string]rawjson.Value `json:",embed"`
	}
	binaryShape struct {
		ID       string                   `json:"id"`
		Type     PartType                 `json:"type"`
		Data     string                   `json:"data"`
		MIMEType string                   `json:"mimeType"`
		Unknown  map[string]rawjson.Value `json:",embed"`
	}
	toolCallShape struct {
		ID           string                   `json:"id"`
		Type         PartType                 `json:"type"`
		ToolCallID   string                   `json:"toolCallId"`
		ToolName     string                   `json:"toolName"`
		Args         rawjson.Value            `json:"args"`
		ProviderData rawjson.Value            `json:"providerData,omitzero"`
		Unknown      map[string]rawjson.Value `json:",embed"`
	}
	thinkingShape struct {
		ID           string                   `json:"id"`
		Type         PartType                 `json:"type"`
		Thinking     string                   `json:"thinking"`
		Signature    string                   `json:"signature,omitzero"`
		ProviderData rawjson.Value            `json:"providerData,omitzero"`
		Unknown      map[string]rawjson.Value `json:",embed"`
	}
	toolResultShape struct {
		ID         string                   `json:"id"`
		Type       PartType                 `json:"type"`
		ToolCallID string                   `json:"toolCallId"`
		ToolName   string                   `json:"toolName"`
		Contents   []Part                   `json:"contents"`
		IsError    bool                     `json:"isError,omitzero"`
		Unknown    map[string]rawjson.Value `json:",embed"`
	}
	providerShape struct {
		ID           string                   `json:"id"`
		Type         PartType                 `json:"type"`
		ToolName     string                   `json:"toolName"`
		ProviderData rawjson.Value            `json:"providerData"`
		Unknown      map[string]rawjson.Value `json:",embed"`
	}
)

// MarshalJSON writes the members that p's type has, and no others.
func (p Part) MarshalJSON() ([]byte, error) { return json.Marshal(p, encoding) }

func (p Part) encode(enc *jsontext.Encoder) error {
	switch p.Type {
	case TextPart:
		return json.MarshalEncode(enc, textShape{p.ID, p.Type, p.Text, p.ProviderData, p.Unknown})
	case ImageURLPart, FileURLPart:
		return json.MarshalEncode(enc, urlShape{p.ID, p.Type, p.URL, p.MIMEType, p.Unknown})
	case ImageInlinePart, FileInlinePart:
		return json.MarshalEncode(enc, inlineShape{p.ID, p.Type, p.EncodedData, p.MIMEType, p.Unknown})
	case ImageBinaryPart, FileBinaryPart:
		return json.MarshalEncode(enc, binaryShape{p.ID, p.Type, p.Data, p.MIMEType, p.Unknown})
	case ToolCallPart:
		return json.MarshalEncode(enc, toolCallShape{p.ID, p.Type, p.ToolCallID, p.ToolName, orEmptyObject(p.Args), p.ProviderData, p.Unknown})
	case ThinkingPart:
		return json.MarshalEncode(enc, thinkingShape{p.ID, p.Type, p.Thinking, p.Signature, p.ProviderData, p.Unknown})
	case ToolResultPart:
		return json.MarshalEncode(enc, toolResultShape{p.ID, p.Type, p.ToolCallID, p.ToolName, p.Contents, p.IsError, p.Unknown})
	case ProviderPart:
		return json.MarshalEncode(enc, providerShape{p.ID, p.Type, p.ToolName, orEmptyObject(p.ProviderData), p.Unknown})
	}
	return fmt.Errorf("message part %q: unknown type %q", p.ID, p.Type)
}

// UnmarshalJSON reads a part and refuses a type that has no shape here: a part that cannot
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

// orEmptyObject stands in for arguments that a provider left out.
func orEmptyObject(v rawjson.Value) rawjson.Value {
	if len(v) == 0 {
		return rawjson.Value("{}")
	}
	return v
}
