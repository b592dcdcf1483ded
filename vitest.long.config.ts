import { defineConfig } from 'vitest/config'
import { longTests } from './test/long.ts'
import usual from './vitest.config.ts'

export default defineConfig({ test: { ...usual.test, include: longTests, exclude: [] } })
