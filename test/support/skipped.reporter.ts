import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

/** Says at the end of a run which tests were skipped, and why: the runner itself counts them. */
export default class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const byReason = new Map<string, string[]>()
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        const result = test.result()
        const reason = result.state === 'skipped' ? result.note : undefined
        // Those that a filter leaves out have none.
        if (reason === undefined) continue
        const name = `${relative(process.cwd(), module.moduleId)} > ${test.fullName}`
        byReason.set(reason, [...(byReason.get(reason) ?? []), name])
      }
    }
    for (const [reason, names] of byReason) console.log(`skipped, as ${reason}:\n  ${names.join('\n  ')}`)
  }
}
