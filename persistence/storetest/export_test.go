package storetest

// More than a hundred sabotaged stores copy what is too large several times,
// which the race detector makes slow. A tenth of it breaks them just as well.
func init() { tooLarge /= 10 }
