// A platform as its own process, for benches: in a Node as `gantry up` has it.
import { keepCompiled, useLessMemory } from '../cli/node-settings.mjs'

useLessMemory()
keepCompiled()
await import('./platform.ts')
