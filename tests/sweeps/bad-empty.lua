-- expect: the file must return sweep { ... }

