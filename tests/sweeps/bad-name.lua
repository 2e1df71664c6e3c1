-- expect: name: "../up" must consist of letters
return sweep { candidates = "store", problems = "01_allreduce", name = "../up" }
