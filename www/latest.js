/**
 * One request at a time, of which only the latest wanted matters: what a dragging pointer needs.
 */
export class Latest {
  #ask;
  #onAnswer;
  #onError;
  #wanted = null;
  #busy = false;
  #generation = 0;

  /**
   * @param {(wanted: object) => Promise<any>} ask
   * @param {(answer: any, wanted: object) => void} onAnswer
   * @param {(error: any) => void} onError
   */
  constructor(ask, onAnswer, onError) {
    this.#ask = ask;
    this.#onAnswer = onAnswer;
    this.#onError = onError;
  }

  /** Replaces whatever was wanted before and is not asked yet. */
  want(wanted) {
    this.#wanted = wanted;
    if (!this.#busy) {
      this.#next();
    }
  }

  /** Wants nothing any more; an answer that is still under way is dropped. */
  drop() {
    this.#wanted = null;
    this.#generation += 1;
  }

  async #next() {
    const generation = this.#generation;
    const wanted = this.#wanted;
    this.#wanted = null;
    this.#busy = true;
    try {
      const answer = await this.#ask(wanted);
      if (generation === this.#generation) {
        this.#onAnswer(answer, wanted);
      }
    } catch (error) {
      if (generation === this.#generation) {
        this.#onError(error);
      }
    } finally {
      this.#busy = false;
      if (this.#wanted !== null) {
        this.#next();
      }
    }
  }
}
