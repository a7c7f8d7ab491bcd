after_the_first_half_hour() { said hello.test; }
