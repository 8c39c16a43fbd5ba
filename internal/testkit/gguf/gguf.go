// Package gguf writes tiny language models that say what a test wants.
//
// A model is a real one in the GGUF format, with the architecture of llama, and any server
// for such models runs it. Its weights make the next token a function of the last token
// alone: the attention adds nothing, the embedding of a token is a unit vector, and the
// output matrix holds the table of successors. The prompt selects what is said by its last
// token, a mark, which the template of the model prints.
package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// A Line is what a model says after a mark.
type Line struct {
	Mark   string   // such as <|read|>
	Tokens []string // each is one token; Byte makes one of a single byte
	Loop   bool     // begin again after the last token, and never end
}

// Byte is a token of one byte, for characters that arrive in pieces.
func Byte(b byte) string { return fmt.Sprintf("<0x%02X>", b) }

// The kinds of token in a vocabulary.
const (
	normal  = 1
	unknown = 2
	control = 3
	user    = 4 // kept whole by the tokenizer
	oneByte = 6
)

const (
	beginID  = 1
	endID    = 2
	firstID  = 3 // of the bytes
	heads    = 4
	feed     = 32
	context  = 1 << 18
	multiple = 32 // vocabularies are a multiple of it
)

// vocabulary is the tokens of a model and what follows each.
type vocabulary struct {
	names []string
	kinds []int32
	next  map[int]int
	ids   map[string]int
}

func (v *vocabulary) add(name string, kind int32) (id int, err error) {
	if _, taken := v.ids[name]; taken { // servers abort on two equal tokens
		return 0, fmt.Errorf("the token %q has two places, and can have one successor only; write one of them in another way", name)
	}
	id = len(v.names)
	v.names, v.kinds, v.ids[name] = append(v.names, name), append(v.kinds, kind), id
	return id, nil
}

func newVocabulary(lines []Line) (*vocabulary, error) {
	v := &vocabulary{next: map[int]int{}, ids: map[string]int{}}
	v.names = []string{"<unk>", "<s>", "</s>"}
	v.kinds = []int32{unknown, control, control}
	for b := range 256 {
		if _, err := v.add(Byte(byte(b)), oneByte); err != nil {
			return nil, err
		}
	}
	for _, line := range lines {
		if err := v.addLine(line); err != nil {
			return nil, err
		}
	}
	for len(v.names)%multiple != 0 {
		if _, err := v.add(fmt.Sprintf("<pad%d>", len(v.names)), normal); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *vocabulary) addLine(line Line) error {
	mark, err := v.add(line.Mark, user)
	if err != nil {
		return err
	}
	last, first := mark, endID
	for i, token := range line.Tokens {
		id, ok := v.ids[token]
		if !ok || !strings.HasPrefix(token, "<0x") {
			// The tokenizer of llama writes a space as this character.
			if id, err = v.add(strings.ReplaceAll(token, " ", "\u2581"), normal); err != nil {
				return err
			}
		}
		if i == 0 {
			first = id
		}
		if _, taken := v.next[last]; taken {
			return fmt.Errorf("what follows the byte %s is in two lines", v.names[last])
		}
		v.next[last], last = id, id
	}
	v.next[last] = endID
	if line.Loop {
		v.next[last] = first
	}
	return nil
}

// Write returns the file of a model that says the lines.
func Write(lines ...Line) ([]byte, error) {
	v, err := newVocabulary(lines)
	if err != nil {
		return nil, err
	}
	n := len(v.names)
	embedding, output := make([]float32, n*n), make([]float32, n*n)
	for id := range n {
		next, ok := v.next[id]
		if !ok {
			next = endID
		}
		embedding[id*n+id], output[next*n+id] = 1, 1
	}
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	scores := make([]float32, n)
	for i := range scores {
		scores[i] = -float32(i)
	}
	f := &file{}
	f.set("general.architecture", "llama")
	f.set("general.name", "scripted")
	f.set("general.file_type", uint32(0))
	f.set("llama.context_length", uint32(context))
	f.set("llama.embedding_length", uint32(n))
	f.set("llama.block_count", uint32(1))
	f.set("llama.feed_forward_length", uint32(feed))
	f.set("llama.attention.head_count", uint32(heads))
	f.set("llama.attention.head_count_kv", uint32(heads))
	f.set("llama.attention.layer_norm_rms_epsilon", float32(1e-6))
	f.set("llama.rope.dimension_count", uint32(n/heads))
	f.set("llama.vocab_size", uint32(n))
	f.set("tokenizer.ggml.model", "llama")
	f.set("tokenizer.ggml.tokens", v.names)
	f.set("tokenizer.ggml.scores", scores)
	f.set("tokenizer.ggml.token_type", v.kinds)
	f.set("tokenizer.ggml.bos_token_id", uint32(beginID))
	f.set("tokenizer.ggml.eos_token_id", uint32(endID))
	f.set("tokenizer.ggml.unknown_token_id", uint32(0))
	f.set("tokenizer.ggml.add_bos_token", true)
	f.set("tokenizer.ggml.add_eos_token", false)

	square, wide := make([]float32, n*n), make([]float32, n*feed)
	f.tensor("token_embd.weight", embedding, n, n)
	f.tensor("blk.0.attn_norm.weight", ones, n)
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		f.tensor("blk.0."+name+".weight", square, n, n)
	}
	f.tensor("blk.0.ffn_norm.weight", ones, n)
	f.tensor("blk.0.ffn_gate.weight", wide, n, feed)
	f.tensor("blk.0.ffn_up.weight", wide, n, feed)
	f.tensor("blk.0.ffn_down.weight", wide, feed, n)
	f.tensor("output_norm.weight", ones, n)
	f.tensor("output.weight", output, n, n)
	return f.bytes(), nil
}

// file is a GGUF file in the making: values by key, then descriptions of tensors, then
// their numbers.
type file struct {
	keys, infos, data bytes.Buffer
	values, tensors   uint64
}

func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			put(b, uint64(len(v)))
			b.WriteString(v)
		default:
			_ = binary.Write(b, binary.LittleEndian, v) // a buffer takes everything
		}
	}
}

// kindOf numbers the types of values as GGUF does.
func kindOf(value any) uint32 {
	switch value.(type) {
	case uint32:
		return 4
	case int32:
		return 5
	case float32:
		return 6
	case bool:
		return 7
	case string:
		return 8
	}
	panic(fmt.Sprintf("gguf: no number for %T", value))
}

const kindArray = 9

func (f *file) set(key string, value any) {
	f.values++
	put(&f.keys, key)
	switch list := value.(type) {
	case []string:
		put(&f.keys, uint32(kindArray), kindOf(""), uint64(len(list)))
		for _, s := range list {
			put(&f.keys, s)
		}
	case []int32:
		put(&f.keys, uint32(kindArray), kindOf(int32(0)), uint64(len(list)), list)
	case []float32:
		put(&f.keys, uint32(kindArray), kindOf(float32(0)), uint64(len(list)), list)
	default:
		put(&f.keys, kindOf(value), value)
	}
}

const alignment = 32

func align(b *bytes.Buffer) { b.Write(make([]byte, (alignment-b.Len()%alignment)%alignment)) }

func (f *file) tensor(name string, numbers []float32, dimensions ...int) {
	f.tensors++
	put(&f.infos, name, uint32(len(dimensions)))
	for _, d := range dimensions {
		put(&f.infos, uint64(d))
	}
	const float32s = 0
	put(&f.infos, uint32(float32s), uint64(f.data.Len()))
	put(&f.data, numbers)
	align(&f.data)
}

func (f *file) bytes() []byte {
	var b bytes.Buffer
	const version = 3
	b.WriteString("GGUF")
	put(&b, uint32(version), f.tensors, f.values)
	b.Write(f.keys.Bytes())
	b.Write(f.infos.Bytes())
	align(&b)
	b.Write(f.data.Bytes())
	return b.Bytes()
}
