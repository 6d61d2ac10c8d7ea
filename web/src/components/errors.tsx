// A broken panel says so and lets the rest of the page live.
import { Component, type ReactNode } from 'react';
import { Failed } from './states';

export class ErrorBoundary extends Component<{ what: string; children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };
  static getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override render() {
    if (this.state.error === null) return this.props.children;
    return <Failed what={`${this.props.what} broke`} error={this.state.error} retry={() => this.setState({ error: null })} />;
  }
}
