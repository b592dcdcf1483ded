import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { metadataMigrations } from '../subjects/metadata/migrations.ts'
import { gantry } from './cli/support.ts'
import { startTestPlatform } from './support/platform.ts'
import { until } from './support/until.ts'

const page = readFileSync(new URL('../docs/METADATA.md', import.meta.url), 'utf8')
const [section = ''] = /^## An example\n[\s\S]*?(?=^## )/m.exec(page) ?? []

test('the example of docs/METADATA.md says what really happens', async () => {
  await using platform = await startTestPlatform()
  const folder = mkdtempSync(join(tmpdir(), 'gantry-example-'))
  try {
    const here = (text: string) => text.replaceAll('/srv/', `${folder}/`)
    const files = [...section.matchAll(/<!-- file: (\S+) -->\s+```json\n([\s\S]*?)```/g)]
    expect(files.length).toBeGreaterThan(1)
    for (const [, path, text] of files) {
      mkdirSync(dirname(here(path!)), { recursive: true })
      writeFileSync(here(path!), here(text!))
    }
    mkdirSync(here('/srv/new'))
    const run = async (command: string): Promise<string> => {
      const words = [...here(command).matchAll(/'([^']*)'|(\S+)/g)].map(
        ([, quoted, plain]) => quoted ?? plain!,
      )
      expect(words[0]).toBe('./gantry')
      const ran = await gantry(words.slice(1), { env: { GANTRY_TOKEN: platform.operatorToken } })
      expect(ran, command).toMatchObject({ code: 0, err: '' })
      return ran.out.replaceAll(`${folder}/`, '/srv/')
    }
    const [, commands = ''] = /```sh\n([\s\S]*?)```/.exec(section) ?? []
    for (const command of commands.trim().split('\n')) await run(command)
    await until('the migration is over', async () => {
      const { state } = await platform.call(metadataMigrations.get, { migrationName: 'lake' })
      return state === 'COMPLETED' || undefined
    })
    const [, shown = ''] = /```console\n([\s\S]*?)```/.exec(section) ?? []
    let said = ''
    for (const [command] of shown.matchAll(/^\$ .*$/gm)) said += `${command}\n${await run(command.slice(2))}`
    // Columns are as wide as what is in them, and no line ends in blanks on the page.
    expect(said.replaceAll(/ +$/gm, '')).toBe(shown)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
