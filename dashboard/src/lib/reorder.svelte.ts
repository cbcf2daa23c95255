// Moving the items of a list by dragging their grips. Must not know what the items are.

/** A list with one item in another place. */
export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const next = [...list];
  next.splice(to, 0, ...next.splice(from, 1));
  return next;
}

export class Reorder {
  dragged = $state<number | null>(null);
  private readonly move: (from: number, to: number) => void;

  constructor(move: (from: number, to: number) => void) {
    this.move = move;
  }

  /** For the element of an item. It moves while it is dragged over others. */
  item(index: number) {
    return {
      draggable: this.dragged === index,
      ondragend: () => void (this.dragged = null),
      ondragover: (event: DragEvent) => {
        if (this.dragged === null) return;
        event.preventDefault();
        if (this.dragged === index) return;
        const from = this.dragged;
        this.dragged = index;
        this.move(from, index);
      },
      ondrop: (event: DragEvent) => {
        event.preventDefault();
        this.dragged = null;
      },
    };
  }

  /** For the part of an item that it is dragged by. */
  grip(index: number) {
    return { onpointerdown: () => void (this.dragged = index), onpointerup: () => void (this.dragged = null) };
  }
}
