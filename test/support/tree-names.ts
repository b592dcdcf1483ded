/** Names that file systems take and programs trip over, as bytes: each is used for a file and for a folder. */
const texts = [
  ' leading space',
  'trailing space ',
  'two  spaces',
  'tab\there',
  'new\nline',
  'carriage\rreturn',
  '100%',
  '%41',
  '%2F',
  '%zz',
  'a#b',
  'a+b',
  'a?b',
  'a&b=c',
  '"double"',
  "'single'",
  '`back`',
  '$HOME',
  '*',
  '<tag>&amp;',
  'semi;colon',
  'pipe|colon:',
  '[brackets]{braces}',
  '-dash',
  '~tilde',
  '.hidden',
  '..a',
  'a..b',
  'CON',
  'ümlaut ß ø',
  // The same word composed and decomposed: two files beside each other.
  'é composed'.normalize('NFC'),
  'é composed'.normalize('NFD'),
  '日本語 中文 한국어',
  'עברית العربية',
  '😀 emoji 👩‍👩‍👧',
  '\u200bzero width',
  '\u202eright to left',
  '\u2028line separator',
  '\ufeffbyte order mark',
  // Almost like a file under construction: those are left out at a source.
  '.gantry~tag~0',
  `${'n'.repeat(245)}.text`,
  'é'.repeat(125),
]

/** Names that Azure's rules do not take. */
const refusedByAzure = [
  '...',
  'ends with dot.',
  'back\\slash',
  'control \x01 character',
  'non-character \uffff',
]

/** No UTF-8: single bytes, Latin-1, an overlong slash, half of a surrogate pair, a cut-off sequence. */
const bytes = [
  Buffer.from([0xff, 0xfe]),
  Buffer.from('caf\xe9', 'latin1'),
  Buffer.from([0x6f, 0xc0, 0xaf, 0x6f]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0x61, 0xe2, 0x82]),
]

/** Names that every store takes. */
export const nastyNames = texts.map((text) => Buffer.from(text))

/** Names that only a file system takes. */
export const localNames = [...refusedByAzure.map((text) => Buffer.from(text)), ...bytes]
