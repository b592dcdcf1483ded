import { Text } from '@mantine/core'
import type { RuleView } from '../../subjects/migrations/model/rules.ts'
import { Named } from './named.tsx'
import { ruleText } from './rule-text.ts'

/** What a rule matches, and what it is for where that is more. */
export const RuleMatches = ({ rule }: { readonly rule: RuleView }) => {
  const text = ruleText(rule)
  return (
    <>
      <Named>{text}</Named>
      {rule.description !== text && rule.description !== '' && (
        <Text size="xs">
          <Named>{rule.description}</Named>
        </Text>
      )}
    </>
  )
}
