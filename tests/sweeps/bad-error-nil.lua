-- expect: an error was raised with a nil instead of a text
error(nil)
