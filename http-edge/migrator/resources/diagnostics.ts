import { diagnostics } from '../../../subjects/migrations/diagnostics.ts'
import { operation } from '../operation.ts'

export const diagnosticOperations = [
  operation(diagnostics.summary, 'GET', '/diagnostics/summary'),
  operation(diagnostics.text, 'GET', '/diagnostics/summary.txt'),
]
