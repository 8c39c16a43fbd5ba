package expert

// BaseTools are the tools of the base skill, in its order: the names that pick and omit
// of the built-in one accept.
func BaseTools() []string {
	return []string{
		"attemptCompletion",
		"think",
		"todo",
		"clearTodo",
		"exec",
		"getFileInfo",
		"healthCheck",
		"readTextFile",
		"readImageFile",
		"readPdfFile",
		"writeTextFile",
		"appendTextFile",
		"editTextFile",
		"moveFile",
		"deleteFile",
		"listDirectory",
		"createDirectory",
		"deleteDirectory",
	}
}
