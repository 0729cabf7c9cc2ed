"""Operations: bulk actions that workers perform, a bounded part in each call of the store."""
