import { Component, type ReactNode } from 'react'
import { Failure } from './failure.tsx'

interface Props {
  /** Of what is shown in its place when it fails. */
  readonly title: string
  readonly children: ReactNode
}

/** Keeps what others have made from taking the page around it down. */
export class ErrorBoundary extends Component<Props, { readonly error?: unknown }> {
  override state: { readonly error?: unknown } = {}

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    const { error } = this.state
    return error === undefined ? this.props.children : <Failure title={this.props.title} error={error} />
  }
}
