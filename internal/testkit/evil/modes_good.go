package evil

// goodModes has the positive control: what a test does to the others must work here.
func goodModes() []Mode {
	return []Mode{{"good", "behaves: three tools echo, add and fail", func(*server) {}}}
}

// ordinaryTools are those of a well-behaved server.
func ordinaryTools() []tool {
	return []tool{
		{"echo", "Returns the text it is given.", schema("text", "string"), func(_ *server, a arguments) object {
			said, _ := a["text"].(string)
			return text("%s", said)
		}},
		{"add", "Adds two numbers.", schema("a", "number", "b", "number"), func(_ *server, a arguments) object {
			x, _ := a["a"].(float64)
			y, _ := a["b"].(float64)
			return text("%g", x+y)
		}},
		{"fail", "Fails, as a tool may.", schema(), func(*server, arguments) object {
			result := text("it failed, as it was asked to")
			result["isError"] = true
			return result
		}},
	}
}

// schema is that of an object: names and types in turn, all required.
func schema(namesAndTypes ...string) object {
	properties, required := object{}, []string{}
	for i := 0; i+1 < len(namesAndTypes); i += 2 {
		properties[namesAndTypes[i]] = object{"type": namesAndTypes[i+1]}
		required = append(required, namesAndTypes[i])
	}
	return object{"type": "object", "properties": properties, "required": required}
}
