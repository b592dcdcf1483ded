import { expect, test } from 'vitest'
import { detachCommand, inUseText } from '../../../subjects/kit/in-use.ts'

test('what is in use names who uses it, and the command that ends that', () => {
  const command = (name: string) => detachCommand('exclusions', name, '-tmp')
  expect(inUseText('-tmp', ['live'], 'detach it', command)).toBe(
    '-tmp is in use by migration live: detach it first with "gantry exclusions detach live -- -tmp"',
  )
  expect(inUseText('store', ['a', 'b c'], 'delete them', (name) => `migrations delete ${name}`)).toBe(
    'store is in use by migrations a, b c: delete them first, starting with "gantry migrations delete a"',
  )
})
