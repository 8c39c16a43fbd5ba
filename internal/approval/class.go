package approval

// classes has the base tools except exec. Those that only change the conversation count as reading.
var classes = map[string]Class{
	"attemptCompletion": Reads, "clearTodo": Reads, "think": Reads, "todo": Reads,
	"getFileInfo": Reads, "glob": Reads, "grep": Reads, "healthCheck": Reads, "listDirectory": Reads,
	"readImageFile": Reads, "readPdfFile": Reads, "readTextFile": Reads,
	"appendTextFile": Writes, "createDirectory": Writes, "deleteDirectory": Writes, "deleteFile": Writes,
	"editTextFile": Writes, "moveFile": Writes, "writeTextFile": Writes,
}

// BaseClass returns what kind of effect a tool of the built-in base skill has. Tools of other skills,
// whatever their names, start something.
func BaseClass(tool string) Class {
	if class, known := classes[tool]; known {
		return class
	}
	return Starts
}
