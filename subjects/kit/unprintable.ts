/** Characters that move a terminal's cursor, or turn the direction of what follows them; for a pattern. */
export const unprintable = '\\x00-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069'
