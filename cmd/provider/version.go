package main

import (
	"cmp"
	"runtime/debug"
)

const unversioned = "dev"

// version is what the binary was built from: the module's version or, in a
// build from a working tree that was stamped, the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unversioned
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	text := cmp.Or(settings["vcs.revision"], unversioned)
	if settings["vcs.modified"] == "true" {
		text += " (modified)"
	}
	return text
}
