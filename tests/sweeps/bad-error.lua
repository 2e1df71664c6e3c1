-- expect: line 2: my own message
error("my own message")
