import { compare, getRounds } from 'bcryptjs'
import { expect, test } from 'vitest'
import { gantry } from '../support.ts'

const hash = (stdin: string, ...more: string[]) => gantry(['credential', 'hash', ...more], { stdin })

test('the hash of the password on stdin is printed, the line break at its end is not part of it', async () => {
  const { code, out, err } = await hash('päss wörd\n')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(await compare('päss wörd', out.trim())).toBe(true)
  expect(getRounds(out.trim())).toBeGreaterThanOrEqual(12)
})

test('--json is an object with it', async () => {
  const { out } = await hash('x', '--json')
  expect(await compare('x', (JSON.parse(out) as { hash: string }).hash)).toBe(true)
})

test.each([
  ['', 'stdin is empty'],
  ['\n', 'stdin is empty'],
  ['one\ntwo\n', 'more than one line'],
  ['x'.repeat(73), 'longer than 72 bytes'],
  ['ä'.repeat(37), 'longer than 72 bytes'],
])('%j is refused', async (stdin, problem) => {
  const { code, out, err } = await hash(stdin)
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain(problem)
})
