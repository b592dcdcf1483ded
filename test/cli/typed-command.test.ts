import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { asTyped } from '../../cli/as-typed.ts'
import { typedCommand } from '../../cli/typed-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'gantry-typed-'))
mkdirSync(join(folder, 'bin'))
writeFileSync(join(folder, 'gantry'), '')
symlinkSync('../gantry', join(folder, 'bin/gantry'))
afterAll(() => rmSync(folder, { recursive: true }))

const text =
  'start it with "gantry up", or "gantry up --port-offset 1000"; gantry.config: run "gantry config check"; /opt/gantry info'

const typed = (where: { env: NodeJS.ProcessEnv; cwd: string }) =>
  asTyped({ command: typedCommand(folder, where) }, text)

test('commands stand as they are typed where the program is', () => {
  expect(typed({ env: { PATH: '/bin' }, cwd: folder })).toBe(
    'start it with "./gantry up", or "./gantry up --port-offset 1000"; gantry.config: run "./gantry config check"; /opt/gantry info',
  )
  expect(typed({ env: { PATH: '/bin' }, cwd: '/' })).toContain(`"${folder}/gantry config check"`)
  expect(typed({ env: { PATH: join(folder, 'bin') }, cwd: '/' })).toBe(text)
})

test('a path with what stands for something in a replacement is the path', () => {
  const command = { here: "$'\\u202e'/gantry", anywhere: '', start: '$& up' }
  expect(asTyped({ command }, 'run "gantry up" or "gantry info" now')).toBe(
    `run "$& up" or "$'\\u202e'/gantry info" now`,
  )
})

test('in a container of docker-compose.yml, commands stand as they are typed on the host', () => {
  const env = { GANTRY_COMPOSE_SERVICE: 'gantry', PATH: join(folder, 'bin') }
  const said = typed({ env, cwd: '/' })
  expect(said).toContain('start it with "docker compose up -d --wait"')
  expect(said).toContain('run "docker compose exec gantry gantry config check"')
  expect(asTyped({ command: typedCommand(folder, { env, cwd: '/' }) }, said)).toBe(said)
})
