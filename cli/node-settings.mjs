// How Node runs us. What goes on for days takes less memory (docs/PERFORMANCE.md, "Memory").
import * as module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

/**
 * Bounds the young objects of the main thread to 24 MB, of 48: under load it would take them all. Each call over REST
 * costs 4 µs more, as they are looked through more often.
 */
const flag = '--max-semi-space-size=8'

/** All threads share the memory of malloc; else each keeps what it once needed to compile its code. */
const environment = { MALLOC_ARENA_MAX: '1' }

/** The folder of the program, or of its package. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))
export const modules = join(root, 'node_modules')
/** For what makes a start faster and may be deleted at any time. */
export const cacheFolder = join(modules, '.cache', 'gantry')

/**
 * Compiled code is kept for the next start, which takes half of the time then; without write permission it is not. Threads
 * look for it in the environment alone: without it each would load Node's compiler of types, 10 MB.
 */
export function keepCompiled() {
  process.env.NODE_COMPILE_CACHE ??= cacheFolder
  module.enableCompileCache?.()
}

/** Begins this process anew with less memory, which counts from the start alone; goes on where the system cannot. */
export function useLessMemory() {
  if (process.execArgv.includes(flag)) {
    // Threads have bounds of their own, whose place it would take.
    setFlagsFromString('--max-semi-space-size=0')
  } else if (process.execve !== undefined && process.platform !== 'win32') {
    // What the user has set comes last, and counts.
    const args = [process.execPath, flag, ...process.execArgv, ...process.argv.slice(1)]
    process.execve(process.execPath, args, { ...environment, ...process.env })
  }
}
