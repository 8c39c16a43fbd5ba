package inside

// RunForTests is perstack.Run. TestMain sets it: it is in package inside_test, because
// perstack imports this package.
var RunForTests RunFunc
