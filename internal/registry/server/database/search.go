package database

import (
	"strings"
	"unicode/utf8"
)

// shortest is how many characters a word has that an index of trigrams can find.
const shortest = 3

// Search returns the condition that rows of the table listings, which is called l, have all words in their
// text. arg keeps an argument, and returns its place in the statement.
func (db *DB) Search(words []string, arg func(any) string) string {
	var all, indexed []string
	for _, word := range words {
		if db.kind == sqlite && utf8.RuneCountInString(word) >= shortest {
			indexed = append(indexed, `"`+strings.ReplaceAll(word, `"`, `""`)+`"`)
		} else { // the index of PostgreSQL is used by LIKE
			all = append(all, "l.text LIKE "+arg("%"+word+"%"))
		}
	}
	// The index alone decides here. LIKE would read the text of every row that it finds.
	if len(indexed) > 0 {
		all = append(all, "l.number IN (SELECT rowid FROM listings_index WHERE listings_index MATCH "+arg(strings.Join(indexed, " "))+")")
	}
	return strings.Join(all, " AND ")
}
