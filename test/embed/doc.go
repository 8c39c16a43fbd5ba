// Package embed uses perstack as another program would. It is a module of its own, so
// the compiler keeps it from internal packages, and what it needs and cannot have shows
// here first.
package embed
