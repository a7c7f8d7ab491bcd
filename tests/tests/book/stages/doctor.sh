stage() { installed; }
