#!/usr/bin/env node
// The command `gantry`, for whatever Node the machine has: goes on in the one that Gantry runs on, in node_modules.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleSchemas, useBundledSchemas } from './bundled-schemas.mjs'
import { keepCompiled, modules, root, useLessMemory } from './node-settings.mjs'

/** The first that runs TypeScript as it is. */
const oldestNode = 24

/** What goes on for days. */
const daemons = ['up', 'agent']

/** How often somebody who was started by npm looks whether it has ended. */
const parentCheckMs = 1_000

const node = join(modules, '.bin', 'node')

if (process.env.npm_command !== undefined) endWithParent()
if (Number.parseInt(process.versions.node, 10) >= oldestNode && existsSync(join(modules, 'commander'))) {
  if (process.argv.some((arg) => daemons.includes(arg))) {
    useLessMemory()
    await bundleSchemas()
  }
  useBundledSchemas()
  keepCompiled()
  await import(existsSync(join(root, 'cli', 'gantry.ts')) ? './gantry.ts' : '../dist/platform/cli/gantry.js')
} else if (existsSync(node)) {
  runWith(node)
} else {
  const fix = existsSync(join(root, 'package-lock.json'))
    ? `run "npm start" there once`
    : `install Node ${oldestNode} or newer`
  process.stderr.write(`error: ${root} has no packages yet: ${fix}\n`)
  process.exitCode = 1
}

/** npm passes a signal on to the shell that it has put between, which ends without a word to us. */
function endWithParent() {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, parentCheckMs).unref()
}

/** The same command in another Node; ends as it ends. */
function runWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  // We end when it ends. Ctrl-C in a terminal reaches both; a signal twice within a moment counts once there.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal]
  })
}
