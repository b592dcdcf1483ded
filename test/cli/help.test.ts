import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Type } from 'typebox'
import { explanation } from '../../cli/help.ts'
import { shapeOf } from '../../cli/output/shape.ts'
import { verbOf } from '../../subjects/kit/contract.ts'
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

test.for(['up', 'info', 'watch', 'copy', 'apply', 'export', 'config', 'credential', 'completion'])(
  'gantry %s --help',
  async (command) => {
    const { code, out } = await gantry([command, '--help'])
    expect(code).toBe(0)
    await expect(out).toMatchFileSnapshot(golden(command))
  },
)

const helpOf = (resource: string) =>
  Promise.all(
    [
      [resource],
      ...contracts
        .filter((one) => one.resource === resource && one.brokerOnly !== true)
        .map((contract) => [resource, verbOf(contract)]),
    ].map((command) => gantry([...command, '--help'])),
  )

test('gantry keys --help, and of each verb: pages as people see them', async () => {
  const pages = await helpOf('keys')
  await expect(pages.map(({ out }) => out).join(`\n${'-'.repeat(40)}\n\n`)).toMatchFileSnapshot(
    golden('keys'),
  )
})

test('words of commands are in kebab case', () => {
  const words = contracts.flatMap((contract) => [contract.resource, verbOf(contract)])
  expect(words.filter((word) => !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(word))).toEqual([])
})

test('what may be omitted says its default, what may not is marked', async () => {
  const making = contracts.filter(({ verb, brokerOnly }) => /^(?:create|check|add)/.test(verb) && !brokerOnly)
  const silent = making.flatMap((contract) => {
    const shape = shapeOf(contract)
    return shape.flags
      .filter(({ kind, choices, required }) => !required && (kind === 'boolean' || choices !== undefined))
      .filter((field) => !/\bdefault\b/i.test(explanation(field, shape)))
      .map(({ flag }) => `${contract.resource} ${contract.verb} --${flag}`)
  })
  expect(silent).toEqual([])
  const { out } = await gantry(['filesystems', 'create-local', '--help'])
  const page = out.replaceAll(/\s+/g, ' ')
  expect(page).toMatch(
    /^Usage: gantry filesystems create-local <file-system-id> --role <role> --fs-root <root>/,
  )
  expect(page).toMatch(/--fs-root <root> [^(]+\(required\)/)
})

test('the default that a schema has is shown, as of endpoints of extensions', () => {
  const endpoint = { verb: 'now', resource: 'weather', summary: 'Show the weather', errors: [], http: [] }
  const input = Type.Object({ unit: Type.Optional(Type.String({ description: 'Unit', default: 'C' })) })
  const shape = shapeOf({ ...contracts[0]!, ...endpoint, input })
  expect(explanation(shape.flags[0]!, shape)).toBe('Unit; default: C')
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
  return [usage.replace('Usage: ', ''), ...terms.filter((term) => term !== '-h, --help')].join('  ')
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
