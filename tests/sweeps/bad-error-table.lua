-- expect: an error was raised with a table instead of a text
error({})
