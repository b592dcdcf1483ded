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

test.for(resources)('gantry %s --help, and of each verb', async (resource) => {
  const pages = [await gantry([resource, '--help'])]
  for (const { verb } of contracts.filter((one) => one.resource === resource && one.brokerOnly !== true)) {
    pages.push(await gantry([resource, verb, '--help']))
  }
  expect(pages.map(({ code }) => code)).toEqual(pages.map(() => 0))
  await expect(pages.map(({ out }) => out).join(`\n${'-'.repeat(40)}\n\n`)).toMatchFileSnapshot(
    golden(resource),
  )
})

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
