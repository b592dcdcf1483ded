import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { shellWord } from '../../../subjects/kit/shell-word.ts'

test.each([
  'plain',
  '',
  'it\'s $(here) `there` \\ "x"',
  'two\nlines',
  '\u0003\rrm -rf /\n',
  '\u001b[201~; echo pasted',
  "'\u0007\\'",
  'a\u0085b\u202eexe.txt\u2028',
  '\u{e0041}',
])('%j is one word of a shell, with nothing in it that a terminal acts on', (text) => {
  const word = shellWord(text)
  expect(execFileSync('bash', ['-c', `printf %s ${word}`], { env: { LC_ALL: 'C.UTF-8' } }).toString()).toBe(
    text,
  )
  expect(word).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
})
