import { join } from 'node:path'
import { expect, test } from 'vitest'
import { contracts } from '../../subjects/index.ts'
import { gantry, root } from './support.ts'

const golden = (name: string) => join(root, 'test', 'golden', 'cli', `${name}.txt`)
const resources = [...new Set(contracts.map(({ resource }) => resource))]

test('gantry --help', async () => {
  const { code, out, err } = await gantry(['--help'])
  expect(code).toBe(0)
  expect(err).toBe('')
  await expect(out).toMatchFileSnapshot(golden('gantry'))
})

test.for(['up', 'info', 'watch', 'credential', 'completion'])('gantry %s --help', async (command) => {
  const { code, out } = await gantry([command, '--help'])
  expect(code).toBe(0)
  await expect(out).toMatchFileSnapshot(golden(command))
})

const helpOf = (resource: string) =>
  Promise.all(
    [
      [resource],
      ...contracts
        .filter((one) => one.resource === resource && one.brokerOnly !== true)
        .map(({ verb }) => [resource, verb]),
    ].map((command) => gantry([...command, '--help'])),
  )

test('gantry keys --help, and of each verb: pages as people see them', async () => {
  const pages = await helpOf('keys')
  await expect(pages.map(({ out }) => out).join(`\n${'-'.repeat(40)}\n\n`)).toMatchFileSnapshot(
    golden('keys'),
  )
})

test('every command has a page; what each takes, in a line', async () => {
  const pages = (await Promise.all(resources.map(helpOf))).flat()
  expect(pages.filter(({ code, err }) => code !== 0 || err !== '')).toEqual([])
  await expect(`${pages.map(({ out }) => lineOf(out)).join('\n')}\n`).toMatchFileSnapshot(golden('commands'))
})

/** The usage of a page, and the options that are the command's own. */
function lineOf(page: string): string {
  const [usage = '', ...lines] = page.split('\n')
  const ends = lines.findIndex((line) => line.startsWith('Global Options'))
  const terms = lines
    .slice(0, ends)
    .flatMap((line) => /^ {2}(?<term>-\S+(?: \S+)*)/.exec(line)?.groups?.['term'] ?? [])
  return [usage.replace('Usage: ', ''), ...terms.filter((term) => term !== '--help')].join('  ')
}

test('without a command help comes on stderr, as wrong usage', async () => {
  const { code, out, err } = await gantry([])
  expect(code).toBe(2)
  expect(out).toBe('')
  expect(err).toContain('Usage: gantry')
})

test('--version', async () => {
  const { code, out } = await gantry(['--version'])
  expect(code).toBe(0)
  expect(out).toMatch(/^\d+\.\d+\.\d+\n$/)
})
