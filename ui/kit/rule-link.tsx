import { Link } from '@tanstack/react-router'
import type { RuleList } from '../data/rules.ts'
import { Named } from './named.tsx'

/** The name of a rule, and its page. */
export const RuleLink = ({ id, effect }: { readonly id: string; readonly effect: RuleList }) => (
  <Link to="/rules/$effect/$id" params={{ effect, id }}>
    <Named>{id}</Named>
  </Link>
)
