
// What holds for all users is the word of root.
func TestReadRoot(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("owners are not known there")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := write(t, filepath.Join(dir, "f"), "text")
	want := ErrNotRoot
	if os.Geteuid() == 0 {
		want = nil
	}
	if data, err := ReadRoot(path, 1<<20); !errors.Is(err, want) || (err == nil) != (string(data) == "text") {
		t.Errorf("%q, %v, want %v", data, err, want)
	}
	if _, err := ReadRoot(path+"2", 1<<20); !Absent(err) {
		t.Errorf("no file: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	for _, c := range []struct {
		path string
		mode os.FileMode
		want error
	}{{path, 0o664, ErrShared}, {dir, 0o777, ErrSharedDir}} {
		if err := os.Chmod(c.path, c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRoot(path, 1<<20); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.path, err, c.want)
		}
		if err := os.Chmod(c.path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path string
		want error
	}{{dir, ErrNotRootDir}, {path, ErrNotRoot}} {
		if err := os.Chown(c.path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRoot(path, 1<<20); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.path, err, c.want)
		}
	}
}
