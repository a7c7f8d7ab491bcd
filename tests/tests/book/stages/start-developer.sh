after_build_and_test() { said hello.test; }
