-- expect: holds no folders; a model is a folder of the store
return sweep { candidates = "store/beta/02_allgather", problems = 1 }
