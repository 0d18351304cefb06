"""What a package needs whatever it is about: checks of arguments, files, units, notes, memory and processes."""
