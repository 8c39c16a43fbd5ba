package event

import (
	"encoding/base64"
	"strings"
)

// toolActivity says what a person sees of a tool call that was answered. Tools of the
// base skill have activities of their own; all others look alike.
func toolActivity(call ToolCall, result ToolResult) Activity {
	if call.SkillName == "" {
		call.SkillName = result.SkillName
	}
	a := Activity{Error: result.ErrorText()}
	if strings.HasPrefix(call.SkillName, BaseSkill) {
		a.Type = ActivityType(call.ToolName)
		if a.fromBaseTool(parseMembers(call.Args), result) {
			return a
		}
	}
	a.Type = ActivityGeneralTool
	a.SkillName, a.ToolName, a.Args = call.SkillName, call.ToolName, orEmptyObject(call.Args)
	a.Result = result.Result
	return a
}

// fromBaseTool fills a from the arguments and the result of the tool that its type
// names. It reports false, and changes nothing, for a tool without a type.
func (a *Activity) fromBaseTool(args members, result ToolResult) bool {
	out := parseMembers([]byte(FirstText(result.Result)))
	switch a.Type {
	case ActivityAttemptCompletion:
		a.RemainingTodos = out.todos("remainingTodos")
	case ActivityTodo:
		a.NewTodos, a.CompletedTodos = args.texts("newTodos"), args.numbers("completedTodos")
		a.Todos = out.todos("todos")
	case ActivityClearTodo:
	case ActivityReadTextFile:
		a.Path, a.From, a.To = args.text("path"), args.number("from"), args.number("to")
		a.Content = get[string](out, "content")
	case ActivityReadImageFile, ActivityReadPDFFile:
		a.Path = args.text("path")
		a.MIMEType, a.Size = get[string](out, "mimeType"), out.number("size")
		a.fromInlinePart(result.Result)
	case ActivityWriteTextFile, ActivityAppendTextFile:
		a.Path, a.Text = args.text("path"), args.text("text")
	case ActivityEditTextFile:
		a.Path, a.NewText, a.OldText = args.text("path"), args.text("newText"), args.text("oldText")
	case ActivityDeleteFile, ActivityCreateDirectory:
		a.Path = args.text("path")
	case ActivityDeleteDirectory:
		a.Path, a.Recursive = args.text("path"), get[bool](args, "recursive")
	case ActivityMoveFile:
		a.Source, a.Destination = args.text("source"), args.text("destination")
	case ActivityGetFileInfo:
		a.Path = args.text("path")
		if out != nil && a.Error == "" {
			a.Info = fileInfo(out)
		}
	case ActivityListDirectory:
		a.Path, a.Items = args.text("path"), directoryItems(out)
	case ActivityExec:
		a.Command, a.CommandArgs, a.CWD = args.text("command"), args.texts("args"), args.text("cwd")
		a.Output, a.Stdout, a.Stderr = get[string](out, "output"), get[string](out, "stdout"), get[string](out, "stderr")
	default:
		return false
	}
	return true
}

// fromInlinePart takes type and size from the file itself: the runtime puts it in the
// place of the text that described it.
func (a *Activity) fromInlinePart(parts []Part) {
	for i := range parts {
		if p := &parts[i]; p.Type == ImageInlinePart || p.Type == FileInlinePart {
			data := strings.TrimRight(p.EncodedData, "=")
			size := int64(base64.RawStdEncoding.DecodedLen(len(data)))
			mimeType := p.MIMEType // a copy: a pointer would keep the file in memory
			a.MIMEType, a.Size = &mimeType, &size
			return
		}
	}
}

func fileInfo(m members) *FileInfo {
	info := &FileInfo{
		Exists:        true,
		Name:          m.text("name"),
		Directory:     m.text("directory"),
		Extension:     get[string](m, "extension"),
		Type:          fileType(m),
		MIMEType:      get[string](m, "mimeType"),
		SizeFormatted: m.text("sizeFormatted"),
		Created:       m.text("created"),
		Modified:      m.text("modified"),
		Accessed:      m.text("accessed"),
	}
	if exists := get[bool](m, "exists"); exists != nil {
		info.Exists = *exists
	}
	if size := m.number("size"); size != nil {
		info.Size = *size
	}
	return info
}

func directoryItems(m members) []DirectoryItem {
	list := m.list("items")
	if list == nil {
		return nil
	}
	items := make([]DirectoryItem, len(list))
	for i, raw := range list {
		entry := parseMembers(raw)
		items[i] = DirectoryItem{
			Name:     entry.text("name"),
			Path:     entry.text("path"),
			Type:     fileType(entry),
			Modified: entry.text("modified"),
		}
		if size := entry.number("size"); size != nil {
			items[i].Size = *size
		}
	}
	return items
}

// fileType knows two types; a device or a socket is a file to a person.
func fileType(m members) string {
	if m.text("type") == "directory" {
		return "directory"
	}
	return "file"
}
