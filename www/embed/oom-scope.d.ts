/** Importing the module defines the element; there is nothing else to call. */

/** `<oom-scope>`, a PyTorch CUDA memory snapshot from the drop to the verdict. */
export interface OomScopeElement extends HTMLElement {
  /**
   * Opens a snapshot that the page has.
   *
   * @param view the fragment of an address that leads to a view of it
   */
  open(blob: Blob, name: string, view?: string): void;
}

export interface OomScopeConstructor {
  new (): OomScopeElement;
  /** The version of the package. */
  readonly version: string;
  /** What it was built from; empty where the build did not know. */
  readonly commit: string;
}

declare global {
  interface HTMLElementTagNameMap {
    'oom-scope': OomScopeElement;
  }
}
